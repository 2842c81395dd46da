#pragma once

#include <string>
#include <vector>

#include <rankfall/model.h>
#include <rankfall/sample.h>

namespace rankfall {

// Small networks that between them use every sub-layer kind, norm place, mask, position scheme and activation.
inline std::vector<std::string> small_networks() {
  const std::string size = "san:layers=3,heads=3,dim=12,std=0.4,vocab=50";
  return {
      size + ",norm=none",
      size + ",norm=post",
      size + ",norm=pre,mlp=20",
      size + ",norm=post,mlp=20,act=relu",
      size + ",norm=post,mlp=20,act=gelu_new,positions=40",
      size + ",norm=none,mask=causal",
      size + ",norm=pre,mask=window,window=2,global=1",
      size + ",norm=post,mask=causal-window,window=3,mlp=7,act=tanh",
      size + ",norm=post,relative=xlnet,mlp=20",
      size + ",norm=none,relative=xlnet,mask=causal",
      size + ",norm=post,mlp=20,shared=1,embed=5,act=silu",
      size + ",norm=none,bias=0,attn_skip=0",
      size + ",norm=post,mlp=20,mlp_skip=0,branch=0.5,attn_skip=0.25",
      "san:layers=2,heads=2,dim=8,features=3,feature_layers=2,norm=post,std=0.5,labels=4",
      "san:layers=1,heads=1,dim=1,features=1,norm=none,std=0.5,input_norm=0",
  };
}

}  // namespace rankfall
